"""What ships with pliant but is not the library: scenes, published experiments, problems with known answers, sculpted shapes."""
