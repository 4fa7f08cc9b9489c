// Puts a live picture in the place of each still one, in the colours of the page, and again when these change.
(() => {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const [ink, soft, line] = ["--ink", "--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
    return {
      background: "transparent",
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: soft, tickColor: soft },
      legend: { labelColor: ink, titleColor: ink },
      title: { color: ink },
      view: { stroke: line },
    };
  }

  async function draw(figure) {
    const live = figure.querySelector(".live");
    const still = figure.querySelector(".still");
    const spec = JSON.parse(figure.querySelector("script").textContent);
    live.hidden = false;
    try {
      figure.drawn?.finalize();
      // Expressions are interpreted: the page's policy lets no text become a program.
      figure.drawn = await vegaEmbed(live, spec, { actions: false, ast: true, renderer: "svg", config: colours() });
      still.style.display = "none";
    } catch (error) {
      live.hidden = true;
      throw error;
    }
  }

  async function all() {
    for (const figure of document.querySelectorAll("figure")) await draw(figure);
    document.documentElement.dataset.drawn = dark.matches ? "dark" : "light";
  }

  // What is folded away would be missing on paper; the figures of a plot are in the plot.
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("section > details")) details.open = true;
  });
  dark.addEventListener("change", all);
  all();
})();
