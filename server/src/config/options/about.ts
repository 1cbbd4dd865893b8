import { z } from 'zod';

/** Documentation of an option beside its type and default: as zod keeps it with a schema. */
interface OptionFacts {
  /** Meaning, for an operator. */
  readonly description: string;
  /** Example value, other than the default. */
  readonly examples: readonly [unknown];
  /** The first version that has it. */
  readonly since: Version;
  /** Unit, if the name does not say it, as `…Seconds` does. */
  readonly unit?: string;
  /** Fallback where the option is absent and has no default of its own. */
  readonly absent?: string;
}

type Version = '0.1' | '0.2';

/** The facts of an option, for `meta` of its schema: `z.boolean().meta(about('0.1', true, 'Whether …'))`. */
export function about(
  since: Version,
  example: unknown,
  description: string,
  more: Pick<OptionFacts, 'unit' | 'absent'> = {},
): OptionFacts & Record<string, unknown> {
  return { description, examples: [example], since, ...more };
}

export const day = 86_400;
export const hostGrammar = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
export const seconds = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum);

/** The options that name a file or folder. */
export const pathOptions: z.core.$ZodRegistry<{ readonly isPath: true }> = z.registry<{ readonly isPath: true }>();

/** A file or folder, relative to the file that names it. */
export const pathSchema = z.string().min(1).register(pathOptions, { isPath: true });

/** An address that others use: `https`, no user, no query and no fragment (RFC 8414 §2 for the issuer). */
export const httpsAddress = z.string().refine((text) => {
  const url = URL.parse(text);
  return (
    url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  );
}, 'must be an https address without user, query and fragment');

/** Addresses and networks (CIDR). */
export const addresses = z
  .array(
    z.union(
      [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
      'must be an address or a network, e.g. `192.0.2.7` or `10.0.0.0/8`',
    ),
  )
  .default([]);
