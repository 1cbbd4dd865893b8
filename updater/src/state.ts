import { createHash } from 'node:crypto';
import {
  type BundleFloor,
  isSameFloor,
  type KnownFloor,
  raiseFloor,
  refuseSuccessor,
} from '@signet/policy-engine/bundle';
import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import type { BundleForm } from './config/config.ts';
import { fileNames, type PolicyDirectory } from './files/policy-directory.ts';

const number = z.int().min(0);
const time = z.string().transform((text, context): number => {
  const milliseconds = parseTimestamp(text);
  if (milliseconds !== undefined) return milliseconds;
  context.addIssue({ code: 'custom', message: 'not a time' });
  return z.NEVER;
});
/** Floors of earlier programs have neither time nor digest, or nothing that says of which content the digest is. */
const floor = z.object({
  epoch: number,
  version: number,
  issued: time.exactOptional(),
  digest: z.string().exactOptional(),
  content: z.string().exactOptional(),
});
/** A tag says nothing of another form, which has a tag of its own; those of earlier programs are of the form `rfc7515`. */
const tag = z.object({ etag: z.string(), sha256: z.string(), form: z.literal('athenz').exactOptional() });
type Tag = z.infer<typeof tag>;
/** Content of the state file. */
export const stateSchema = z.object({
  floors: z.record(z.string(), floor),
  tags: z.record(z.string(), tag).default({}),
});

/** Floor kept of a bundle that was verified. */
type AcceptedFloor = Required<BundleFloor> & Pick<KnownFloor, 'content'>;

/** Maximum size of the state file, the same as that of engines. */
const maxStateBytes = 16 << 20;

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** State of the updater over restarts: the floor of each domain, and entity tags. */
export class State {
  readonly #directory: PolicyDirectory;
  #form: BundleForm;
  readonly #floors: Map<string, KnownFloor>;
  readonly #tags: Map<string, Tag>;
  #changed = false;
  /** Error of the file on disk, which is not used then. The floors of the bundles on disk still hold. */
  readonly problem: string | undefined;

  private constructor(
    { directory, form }: { directory: PolicyDirectory; form: BundleForm },
    content: z.infer<typeof stateSchema>,
    problem: string | undefined,
  ) {
    this.#directory = directory;
    this.#form = form;
    this.#floors = new Map(Object.entries(content.floors));
    this.#tags = new Map(Object.entries(content.tags));
    this.problem = problem;
  }

  /** `form`: the form in which bundles are requested. */
  static async load(directory: PolicyDirectory, form: BundleForm = 'rfc7515'): Promise<State> {
    const text = await directory.readText(fileNames.state, maxStateBytes);
    const own = { directory, form };
    if (text === undefined) return new State(own, { floors: {}, tags: {} }, undefined);
    try {
      return new State(own, stateSchema.parse(JSON.parse(text)), undefined);
    } catch {
      return new State(own, { floors: {}, tags: {} }, '`state.json` cannot be read and is rewritten');
    }
  }

  /** Floor of the next bundle: the remembered one, raised to the bundle `onDisk`. */
  floor(domain: DomainName, onDisk: AcceptedFloor | undefined): KnownFloor | undefined {
    const remembered = this.#floors.get(domain);
    // a bundle that may not follow was put there by another program
    const isForeign = onDisk === undefined || refuseSuccessor(onDisk, remembered) !== undefined;
    return isForeign ? remembered : raiseFloor(remembered, onDisk);
  }

  /** Entity tag under which exactly these bytes were served, in the form that is requested now. */
  etag(domain: DomainName, bytes: Uint8Array): string | undefined {
    const tag = this.#tags.get(domain);
    if (tag === undefined || (tag.form ?? 'rfc7515') !== this.#form) return undefined;
    return tag.sha256 === sha256(bytes) ? tag.etag : undefined;
  }

  /** Remembers an accepted bundle; a floor never falls. */
  accept(domain: DomainName, bundle: AcceptedFloor, etag: string | undefined, bytes: Uint8Array): void {
    const known = this.#floors.get(domain);
    const raised = raiseFloor(known, bundle);
    if (!isSameFloor(known, raised)) {
      this.#floors.set(domain, raised);
      this.#changed = true;
    }
    if (etag === undefined || this.etag(domain, bytes) === etag) return;
    const form = this.#form;
    this.#tags.set(domain, { etag, sha256: sha256(bytes), ...(form === 'athenz' && { form }) });
    this.#changed = true;
  }

  /** Sets the form in which bundles are requested from now on. */
  askIn(form: BundleForm): void {
    this.#form = form;
  }

  /** Writes the file with the next `save`: the directory is another one, which does not hold it. */
  forgetSaved(): void {
    this.#changed = true;
  }

  /** Writes the file, when something changed since the last time. */
  async save(): Promise<void> {
    if (!this.#changed) return;
    const floors = [...this.#floors].map(([domain, { issued, ...floor }]) => [
      domain,
      { ...floor, ...(issued !== undefined && { issued: formatTimestamp(issued) }) },
    ]);
    const content = { floors: Object.fromEntries(floors), tags: Object.fromEntries(this.#tags) };
    await this.#directory.write(fileNames.state, Buffer.from(`${JSON.stringify(content, null, 2)}\n`));
    this.#changed = false;
  }
}
