"""Phyxels: points with a volume that see their neighbours."""
