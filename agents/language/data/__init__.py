"""Data sources: stored completions, preference pairs and demonstrations beside, or instead of, the policy's own."""
