/** The newest version of a changelog that was given a date. Throws when there is none, or when changes wait for a version. */
export function releasedVersion(changelog: string): string {
  const [, unreleased = ''] = /^## Unreleased\n(.*?)(?=^## )/ms.exec(changelog) ?? [];
  if (/^- /m.test(unreleased))
    throw new Error('CHANGELOG.md has changes under `Unreleased`: give them a version and a date');
  const [, version] = /^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$/m.exec(changelog) ?? [];
  if (version === undefined) throw new Error('CHANGELOG.md names no version with its date');
  return version;
}
