"""A cache protocol that reads all data again after their caches were verified to be empty: its trials are not cold."""

REFILLED = """
kind refilled: protocol {
  doc = "Empty the caches, verify it, and read everything again."
  needs file as at
  phases = [flush, verify_cold, refill]
  refill { sh "cat -- {at.dir}/{at.file} >{out}/refill.bin && rm {out}/refill.bin" { why = "a backup begins" } }
}
"""
