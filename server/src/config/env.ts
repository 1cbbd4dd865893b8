import { parse } from 'yaml';

/** The environment as a program sees it: names to texts. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. The only reader of it in the server. */
export function processEnvironment(): Environment {
  return process.env;
}

/** `tokens.defaultExpirySeconds` is set by `SIGNET_TOKENS_DEFAULT_EXPIRY_SECONDS`. */
export function environmentName(path: string): string {
  return `SIGNET_${path.replaceAll('.', '_').replace(/([a-z0-9])([A-Z])/g, '$1_$2')}`.toUpperCase();
}

/** The options of `paths` that the environment sets: an empty variable is not set, numbers and booleans are read as in YAML. */
export function readEnvironment(environment: Environment, paths: readonly string[]): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  for (const path of paths) {
    const text = environment[environmentName(path)];
    if (text !== undefined && text !== '') found.set(path, scalar(text));
  }
  return found;
}

function scalar(text: string): unknown {
  try {
    const value: unknown = parse(text);
    return typeof value === 'object' ? text : value;
  } catch {
    return text;
  }
}
