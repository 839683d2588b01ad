"""From a scene to a run: building, the step, the recorded loop."""
