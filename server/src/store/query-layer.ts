/** Loads the query layer: the package of a store with the most modules. */
export function loadQueryLayer(): Promise<unknown> {
  return import('kysely');
}
