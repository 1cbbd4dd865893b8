import { Option } from 'commander';
import { type Environment, environmentName } from '../../config/env.ts';
import { type ProfileRules, profiles } from '../../profile.ts';
import { UsageError } from '../usage-error.ts';

type ProfileName = ProfileRules['name'];

/** Environment variable of the option `profile` of a server, which its beginnings heed as well. */
const variable = environmentName('profile');

/** `--profile` of a command that makes a server. */
export function profileOption(): Option {
  const about = `profile: \`athenz\` also supports unmodified Athenz clients (default: ${variable}, else signet)`;
  return new Option('--profile <name>', about).choices(Object.keys(profiles));
}

/** Profile that the environment says; undefined if it says none. Throws `UsageError` for any other word. */
export function profileOf(environment: Environment): ProfileName | undefined {
  const text = environment[variable];
  if (text === undefined || text === '') return undefined;
  if (isProfile(text)) return text;
  throw new UsageError(`${variable} must be one of ${Object.keys(profiles).join(', ')}, got \`${text}\``);
}

function isProfile(text: string): text is ProfileName {
  return Object.hasOwn(profiles, text);
}
