import { StoreRefusedError } from '../errors.ts';
import { stepNames } from './schema-steps.ts';

/** Refuses the steps of another program than this, by their names in order. Throws `StoreRefusedError`. */
export function refuseOtherSteps(
  applied: readonly string[],
  place: string,
  want: 'current' | 'older-is-fine' = 'current',
): void {
  const steps = stepNames;
  if (applied.some((name, at) => name !== steps[at])) throw otherSteps(applied, steps, place);
  if (want === 'current' && applied.length < steps.length) {
    throw new StoreRefusedError(
      'older-schema',
      `store \`${place}\` has an older schema: start the server once to bring it up to date`,
    );
  }
}

/** Error for other steps: those of a newer program follow this one's; merged or renamed ones differ in between. */
function otherSteps(applied: readonly string[], steps: readonly string[], place: string): StoreRefusedError {
  if (steps.every((name, at) => name === applied[at])) {
    return new StoreRefusedError('newer-schema', `store \`${place}\` was written by a newer version of this program`);
  }
  const list = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');
  const unknown = applied.filter((name) => !steps.includes(name));
  const missing = steps.filter((name) => !applied.includes(name));
  const differences = [
    ...(missing.length > 0 ? [`it lacks the migration ${list(missing)}`] : []),
    ...(unknown.length > 0 ? [`it has the migration ${list(unknown)}, which this version does not know`] : []),
  ];
  const help = 'export its documents with the version that wrote it, and apply them to a new store';
  return new StoreRefusedError(
    'diverged-schema',
    `store \`${place}\` was written by a development version of this program (${differences.join('; ')}): ${help}`,
  );
}
