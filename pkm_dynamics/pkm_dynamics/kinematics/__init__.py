"""Kinematics of the spanning tree and of closed configurations."""
