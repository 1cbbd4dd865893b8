import type { CertificateStore, LastCrl, PublishedCrl } from '@signet/server/model/certificate-store';

type CrlStore = Pick<CertificateStore, 'lastCrl' | 'publishCrl' | 'endedRevocations'>;

/** The revocation lists of a store in memory, as several servers may share them. `before` is called before one is published. */
export class CrlsByIssuer implements CrlStore {
  readonly #before: () => Promise<void> | void;
  readonly #last = new Map<string, PublishedCrl>();

  constructor(before: () => Promise<void> | void = () => undefined) {
    this.#before = before;
  }

  async lastCrl(issuer: string, known?: number): Promise<LastCrl | undefined> {
    const last = this.#last.get(issuer);
    if (last === undefined || last.number !== known) return last;
    const { der: _, ...rest } = last;
    return rest;
  }

  async publishCrl(issuer: string, crl: PublishedCrl, after: number | undefined): Promise<boolean> {
    await this.#before();
    if (this.#last.get(issuer)?.number !== after) return false;
    this.#last.set(issuer, crl);
    return true;
  }

  async endedRevocations() {
    return [];
  }
}

/** Publishes one more list of an issuer, of no content; answers its number. */
export async function publishNextCrl(certificates: CrlStore, issuer: string): Promise<number> {
  const last = await certificates.lastCrl(issuer);
  const number = (last?.number ?? 0) + 1;
  const list = { number, sequence: 0, thisUpdate: 1, nextUpdate: 2, der: Buffer.from([number]) };
  if (!(await certificates.publishCrl(issuer, list, last?.number))) throw new Error('another list came first');
  return number;
}
