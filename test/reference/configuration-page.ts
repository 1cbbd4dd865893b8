import { describeOptions, type OptionDescription, type OptionSchema } from '@signet/server/cli/config/describe-options';

/** Sections about what the server issues, and to whom; its other options are on the page of the server. */
const issuing = new Set(['tokens', 'certificates', 'crl', 'instances', 'people', 'keys', 'ssh', 'cloud', 'bundles']);

interface Page {
  readonly file: string;
  readonly title: string;
  readonly text: string;
  readonly options: readonly OptionDescription[];
}

/** Pages of every option of the server and of the updater, by name below `docs/reference/`: how to configure with a list of sections, and the options. */
export function configurationPages(config: OptionSchema, updater: OptionSchema): Map<string, string> {
  const options = describeOptions(config);
  const isIssuing = ({ option }: OptionDescription) => issuing.has(option.split(/[.[]/)[0] ?? '');
  const readBy = 'The server reads `--config`, else `SIGNET_CONFIG`, else `.signet/signet.yaml`.';
  const pages: readonly Page[] = [
    {
      file: 'configuration-server.md',
      title: 'signet.yaml: the server',
      text: `${readBy}\nWhat it issues is on [another page](configuration-issuing.md).`,
      options: options.filter((option) => !isIssuing(option)),
    },
    {
      file: 'configuration-issuing.md',
      title: 'signet.yaml: tokens, certificates, keys',
      text: `${readBy}\nIts other options are on [another page](configuration-server.md).`,
      options: options.filter(isIssuing),
    },
    {
      file: 'configuration-updater.md',
      title: 'updater.yaml',
      text: `The updater reads \`--config\`, else \`SIGNET_UPDATER_CONFIG\`, else \`.signet/updater.yaml\`, and \`HTTPS_PROXY\` and
\`NO_PROXY\`.`,
      options: describeOptions(updater),
    },
  ];
  return new Map([
    ['configuration.md', overview(pages)],
    ...pages.map((page) => [page.file, `# ${page.title}\n\n${page.text}\n\n${sections(page.options)}`] as const),
  ]);
}

function overview(pages: readonly Page[]): string {
  return `# Configuration

Every option, generated from the schemas by \`npm run reference\`. \`signet config explain OPTION\` prints one option,
\`signet config show\` the values in force, and \`signet config check\` checks a configuration.

A configuration is one YAML file. Paths are relative to its folder. Unknown options are errors. Precedence: flag,
environment variable, file; an empty variable of the server is ignored. \`[]\` stands for an item of a list.

Editors complete and check the files with [JSON Schemas](#json-schemas).

${pages.map(contents).join('\n')}
## JSON Schemas

\`signet schema config\`, \`updater\`, \`domain\` and \`policy-tests\` print the JSON Schema (draft 2020-12) of each kind of
file. \`signet init\`, \`signet export\` and \`npm start\` write the schemas into a folder \`schemas\` beside their files, and
name them in the first line:

\`\`\`yaml
# yaml-language-server: $schema=schemas/config.schema.json
\`\`\`

YAML language servers read that line; nothing is fetched. A schema accepts whatever the program accepts.
Rules between options and references between documents are checked by \`signet config check\` and \`signet plan\`.
`;
}

/** Links to the options and sections at the top of a file. */
function contents({ file, title, options }: Page): string {
  const links = options
    .filter(({ option }) => !/[.[]/.test(option))
    .map(
      ({ option, isSection }) => `- [\`${option}\`](${file}#${isSection ? 'section-' : ''}${option.toLowerCase()})\n`,
    );
  return `## [${title}](${file})\n\n${links.join('')}`;
}

function sections(options: readonly OptionDescription[]): string {
  return options.map((option) => (option.isSection ? section(option) : entry(option))).join('\n');
}

function section({ option, meaning }: OptionDescription): string {
  return `## Section \`${option}\`\n\n${wrapped(meaning)}\n`;
}

function entry(description: OptionDescription): string {
  const { option, meaning, type, unit, environment, since, example } = description;
  const lines = [
    `Type: ${type}${unit === undefined ? '' : ` (${unit})`}`,
    defaultLine(description),
    ...(example === undefined ? [] : [`Example: \`${example}\``]),
    ...(environment === undefined ? [] : [`Environment: \`${environment}\``]),
    ...(since === undefined ? [] : [`Since: ${since}`]),
  ];
  const heading = option.includes('.') ? '###' : '##';
  return `${heading} \`${option}\`\n\n${wrapped(meaning)}\n\n${lines.map((line) => `- ${line}\n`).join('')}`;
}

function defaultLine({ default: value, absent, isRequired }: OptionDescription): string {
  if (isRequired) return 'Required';
  return `Default: ${value === undefined ? (absent ?? 'none') : `\`${value}\``}`;
}

/** Lines of at most 120 characters. */
function wrapped(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length >= 120) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join('\n');
}
