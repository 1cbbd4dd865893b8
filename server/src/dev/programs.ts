import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packageFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Where the programs lie that `signet dev` runs, and the sample policies. */
export interface Programs {
  readonly server: string;
  readonly updater: string;
  readonly provider: string;
  readonly policies: string;
}

/** Finds them beside this package: in a checkout as in an installation. Throws when a package is not there. */
export function findPrograms(): Programs {
  const isCheckout = existsSync(join(packageFolder, 'src'));
  return {
    server: join(packageFolder, 'bin/signet.js'),
    updater: scriptOf('@signet/updater', 'signet-updater'),
    provider: scriptOf('@signet/example-provider', 'signet-example-provider'),
    policies: isCheckout ? join(packageFolder, '../policies') : join(packageFolder, 'policies'),
  };
}

function scriptOf(packageName: string, program: string): string {
  let manifest: string;
  try {
    manifest = fileURLToPath(import.meta.resolve(`${packageName}/package.json`));
    readFileSync(manifest);
  } catch (cause) {
    throw new Error(`\`signet dev\` runs ${program}: install ${packageName} beside @signet/server`, { cause });
  }
  return join(dirname(manifest), 'bin', `${program}.js`);
}
