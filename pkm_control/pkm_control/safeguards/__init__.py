"""What keeps a robot that moves from harm, on what is measured."""
