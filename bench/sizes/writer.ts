/** Process that changes a store: a number of changes of a kind, or some of every kind again and again until it is told to stop. */
import { setTimeout as delay } from 'node:timers/promises';
import type { StorePlace } from '@signet/server/config/store-place';
import { type ChangeKind, type Changer, changeKinds, openChanger } from './changes.ts';

export type Order =
  | { readonly kind: 'open'; readonly place: StorePlace }
  | { readonly kind: 'cost'; readonly change: ChangeKind; readonly count: number }
  | { readonly kind: 'burst'; readonly count: number; readonly width: number }
  | { readonly kind: 'stream'; readonly perSecond: number }
  | { readonly kind: 'stop' };
export type Reply =
  | { readonly kind: 'done'; readonly value: number }
  | { readonly kind: 'failed'; readonly reason: string };

let changer: Changer | undefined;
let turn = 0;
let streaming: Promise<number> | undefined;
let stopped = false;

async function follow(order: Order): Promise<number> {
  if (order.kind === 'open') changer = await openChanger(order.place);
  if (changer === undefined) throw new Error('no store is open');
  if (order.kind === 'cost') return await costOf(changer, order.change, order.count);
  if (order.kind === 'burst') return await burst(changer, order.count, order.width);
  if (order.kind === 'stream') {
    stopped = false;
    streaming = stream(changer, order.perSecond);
  }
  if (order.kind !== 'stop') return 0;
  stopped = true;
  return (await streaming) ?? 0;
}

/** Microseconds of processor time a change. */
async function costOf(open: Changer, kind: ChangeKind, count: number): Promise<number> {
  const start = process.cpuUsage();
  for (let done = 0; done < count; done += 1) await open.change(kind, turn++);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / count;
}

/** Seconds that `count` changes take, `width` of them at once. */
async function burst(open: Changer, count: number, width: number): Promise<number> {
  const start = performance.now();
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await open.addMember(turn++);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return (performance.now() - start) / 1000;
}

/** Answers how many changes were made. */
async function stream(open: Changer, perSecond: number): Promise<number> {
  // A member that came with an even number may have been left behind.
  turn += turn % 2;
  for (let made = 0; ; made += 1) {
    if (stopped) return made;
    const kind = changeKinds[(made >> 1) % changeKinds.length] ?? 'a new domain';
    await open.change(kind, turn++);
    await delay(1000 / perSecond);
  }
}

process.on('message', (order: Order) => {
  follow(order).then(
    (value) => process.send?.({ kind: 'done', value } satisfies Reply),
    (error: unknown) => process.send?.({ kind: 'failed', reason: String(error) } satisfies Reply),
  );
});
process.once('disconnect', () => process.exit());
