/** `People`: Better Auth and its one-time links, made once by the IdentityModule. */
export const PEOPLE = Symbol('people');
