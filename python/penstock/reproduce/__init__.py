"""The five papers, reproduced: `penstock reproduce`."""
