/** The things that this service keeps, each one JSON document. */
export const entities = ['movie', 'series'] as const;

export type Entity = (typeof entities)[number];

export type CatalogueDocument = Readonly<Record<string, unknown>>;

/** The data: in memory, gone when the process ends. */
export class Catalogue {
  readonly #documents = new Map<Entity, CatalogueDocument>([
    ['movie', { titles: ['The Third Man', 'Ran'] }],
    ['series', { titles: ['The Wire'] }],
  ]);

  get(entity: Entity): CatalogueDocument {
    return this.#documents.get(entity) ?? {};
  }

  /** Replaces or adds the document of an entity. */
  put(entity: Entity, document: CatalogueDocument): void {
    this.#documents.set(entity, document);
  }
}
