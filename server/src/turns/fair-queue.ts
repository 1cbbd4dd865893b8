/** Limits of waiting work. */
interface QueueRoom {
  readonly places: number;
  /** Maximum share of one lane. */
  readonly laneShare: number;
}

/** Reason why an item may not wait: its lane has its share already, or no place is free. */
export type NoPlace = 'share' | 'busy';

/** A queue of several lanes, which take turns however much waits in each; what is in one lane stays in its order. */
export class FairQueue<Item> {
  readonly #room: QueueRoom;
  /** Lanes in the order of their turns; none is empty. */
  readonly #lanes = new Map<string, Item[]>();
  #length = 0;
  /** The one whose turn was last. */
  #last: string | undefined;

  constructor(room: QueueRoom) {
    this.#room = room;
  }

  /** Undefined when the item waits now, else why it does not. */
  add(lane: string, item: Item): NoPlace | undefined {
    const items = this.#lanes.get(lane) ?? [];
    if (items.length >= this.#room.laneShare) return 'share';
    if (this.#length >= this.#room.places) return 'busy';
    items.push(item);
    this.#lanes.set(lane, items);
    this.#length += 1;
    return undefined;
  }

  /** Notes that the lane has its turn without having waited. */
  take(lane: string): void {
    this.#last = lane;
  }

  /** Removes and returns the next item; undefined when nothing waits. */
  next(): Item | undefined {
    const lanes = [...this.#lanes.keys()];
    // The lane that was served last comes after all others.
    const lane = lanes.find((name) => name !== this.#last) ?? lanes[0];
    const items = lane === undefined ? undefined : this.#lanes.get(lane);
    const item = items?.[0];
    if (lane === undefined || item === undefined) return undefined;
    this.remove(lane, item);
    const left = this.#lanes.get(lane);
    if (left !== undefined) {
      this.#lanes.delete(lane);
      this.#lanes.set(lane, left);
    }
    this.#last = lane;
    return item;
  }

  /** False when it does not wait any more. */
  remove(lane: string, item: Item): boolean {
    const items = this.#lanes.get(lane) ?? [];
    const at = items.indexOf(item);
    if (at < 0) return false;
    items.splice(at, 1);
    if (items.length === 0) this.#lanes.delete(lane);
    this.#length -= 1;
    return true;
  }

  /** Removes and returns all items. */
  clear(): Item[] {
    const items = [...this.#lanes.values()].flat();
    this.#lanes.clear();
    this.#length = 0;
    return items;
  }
}
