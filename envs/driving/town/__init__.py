"""Traffic on a lane graph in which every road user is an agent."""
