"""Android: a client of adb, an environment on real devices, and a fake device whose screen is our simulated phone."""
