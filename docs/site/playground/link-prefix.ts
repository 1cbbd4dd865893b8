/** What stands before the example in the fragment of an address. */
export const linkPrefix = '#example=';
