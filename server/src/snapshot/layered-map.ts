/** Changes are kept apart from what they change until there are this many, or a share of it. */
const leastLayer = 64;
const layerShare = 64;

const none: ReadonlyMap<never, never> = new Map<never, never>();

/**
 * A map that is never changed, and of which a changed copy costs what changes and not what there is: copies share what they have in
 * common. A look-up is one or two look-ups in maps.
 */
export class LayeredMap<Key, Value extends object> implements ReadonlyMap<Key, Value> {
  readonly size: number;
  readonly #base: ReadonlyMap<Key, Value>;
  /** Differences from the base; undefined for a deleted key. */
  readonly #layer: ReadonlyMap<Key, Value | undefined>;

  private constructor(base: ReadonlyMap<Key, Value>, layer: ReadonlyMap<Key, Value | undefined>, size: number) {
    this.#base = base;
    this.#layer = layer;
    this.size = size;
  }

  /** `map` must not be changed afterwards. */
  static of<Key, Value extends object>(map: ReadonlyMap<Key, Value>): LayeredMap<Key, Value> {
    return map instanceof LayeredMap ? map : new LayeredMap(map, none, map.size);
  }

  /** A copy with these entries set, or removed where the value is undefined. */
  with(changes: Iterable<readonly [Key, Value | undefined]>): LayeredMap<Key, Value> {
    const layer = new Map<Key, Value | undefined>(this.#layer);
    let { size } = this;
    let changed = false;
    for (const [key, value] of changes) {
      const known = layer.has(key) ? layer.get(key) : this.#base.get(key);
      if (known === value) continue;
      layer.set(key, value);
      size += Number(value !== undefined) - Number(known !== undefined);
      changed = true;
    }
    if (!changed) return this;
    const next = new LayeredMap(this.#base, layer, size);
    return layer.size <= Math.max(leastLayer, this.#base.size / layerShare) ? next : LayeredMap.of(new Map(next));
  }

  get(key: Key): Value | undefined {
    if (this.#layer.size > 0) {
      const changed = this.#layer.get(key);
      if (changed !== undefined || this.#layer.has(key)) return changed;
    }
    return this.#base.get(key);
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  *entries(): MapIterator<[Key, Value]> {
    for (const entry of this.#base) if (!this.#layer.has(entry[0])) yield entry;
    for (const [key, value] of this.#layer) if (value !== undefined) yield [key, value];
  }

  *keys(): MapIterator<Key> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  forEach(visit: (value: Value, key: Key, map: ReadonlyMap<Key, Value>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this);
  }
}
