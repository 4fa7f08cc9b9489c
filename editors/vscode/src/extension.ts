// Starts the language server, and runs commands of zlang as tasks.

import * as path from "path";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

/** The `zlang` command as the settings name it. */
function command(): string {
  return vscode.workspace.getConfiguration("zlang").get<string>("path", "zlang");
}

/** Run zlang in the folder of a program, and keep what it prints. No shell reads the arguments. The exit code. */
async function run(title: string, folder: string, args: string[]): Promise<number | undefined> {
  const execution = new vscode.ProcessExecution(command(), args, { cwd: folder });
  const task = new vscode.Task({ type: "zlang" }, vscode.TaskScope.Workspace, title, "zlang", execution);
  task.presentationOptions = { clear: true, showReuseMessage: false };
  return new Promise((resolve) => {
    const ended = vscode.tasks.onDidEndTaskProcess((end) => {
      if (end.execution.task.name === title) {
        ended.dispose();
        resolve(end.exitCode);
      }
    });
    void vscode.tasks.executeTask(task);
  });
}

/** The program that is meant, and its experiment: as a lens says, or that in the editor. */
function program(file?: string, experiment?: string): { file: string; options: string[] } | undefined {
  const name = file ?? vscode.window.activeTextEditor?.document.fileName;
  if (name === undefined) {
    void vscode.window.showErrorMessage("No program is open.");
    return undefined;
  }
  return { file: name, options: experiment === undefined ? [] : ["--experiment", experiment] };
}

async function start(title: string, words: string[], file?: string, experiment?: string): Promise<void> {
  const meant = program(file, experiment);
  if (meant === undefined) {
    return;
  }
  await vscode.workspace.saveAll(false);
  await run(title, path.dirname(meant.file), [...words, meant.file, ...meant.options]);
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("zlang.plan", (file?: string, name?: string) => start("plan", ["plan"], file, name)),
    vscode.commands.registerCommand("zlang.run", (file?: string, name?: string) => start("run", ["run"], file, name)),
    vscode.commands.registerCommand("zlang.report", async () => {
      const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
      if (folder === undefined) {
        void vscode.window.showErrorMessage("Open the folder that has the runs.");
        return;
      }
      if ((await run("report", folder.fsPath, ["report"])) === 0) {
        await vscode.env.openExternal(vscode.Uri.joinPath(folder, "report.html"));
      }
    }),
  );
  const server = { command: command(), args: ["lsp"] };
  client = new LanguageClient("zlang", "zlang", server, {
    documentSelector: [{ language: "zexp" }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{zexp,csv,toml}") },
  });
  try {
    await client.start();
  } catch {
    void vscode.window.showErrorMessage(`\`${command()} lsp\` does not start. Type: pip install 'zlang[lsp]'`);
  }
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
