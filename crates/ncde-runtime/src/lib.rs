//! Load a saved ncde model, push observations, read predictions.
