"""Files that another program keeps, in step with the bundle."""
