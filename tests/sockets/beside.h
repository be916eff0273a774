// Takes the next frame out of the queue of a descriptor behind the look with this number, from 1 on, that a reader takes at the queue; 0 takes none.
void take_after(int fd, int look);
