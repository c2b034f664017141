"""Back ends: how agents come to their hosts. One file each."""
