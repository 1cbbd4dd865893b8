import { type KeyObject, sign } from 'node:crypto';

export interface PrincipalTokenSketch {
  /** Milliseconds since the epoch: the token is issued then and lives for an hour. */
  readonly now: number;
  readonly key: KeyObject;
  /** Fields that replace or follow the usual ones; undefined leaves one out. */
  readonly fields?: Readonly<Record<string, string | undefined>>;
}

/** A principal token of `media.player`, unless its fields say otherwise. */
export function principalToken({ now, key, fields = {} }: PrincipalTokenSketch): string {
  const seconds = Math.floor(now / 1000);
  const all = {
    v: 'S1',
    d: 'media',
    n: 'player',
    a: 'c0ffee',
    t: String(seconds),
    e: String(seconds + 3600),
    k: '0',
    ...fields,
  };
  const signed = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .join(';');
  const signature = sign('sha256', Buffer.from(signed), key).toString('base64');
  return `${signed};s=${signature.replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-')}`;
}
