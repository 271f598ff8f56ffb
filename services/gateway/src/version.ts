/** Put in by the build (rolldown `define`); from source both are unknown. */
declare const MOLI_BUILD: { version: string; commit: string } | undefined;

/** Version of the package and the commit it was built from. */
export const BUILD: { readonly version: string; readonly commit: string } =
  typeof MOLI_BUILD === 'undefined' ? { version: '0.0.0-source', commit: 'unknown' } : MOLI_BUILD;
