"""Networks that learn: what every agent, provider and learned reward may import, and which import none of them."""
