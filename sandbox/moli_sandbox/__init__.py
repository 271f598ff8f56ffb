"""The sandbox of Moli: the outer box, its zygote, and what runs inside a slot."""
