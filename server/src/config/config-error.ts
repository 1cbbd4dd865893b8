/** A configuration that cannot be used. `problems` has one line for each thing that is wrong with it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(file: string, problems: readonly string[]) {
    super(`configuration \`${file}\` cannot be used: ${problems.join('; ')}`);
    this.problems = problems;
  }
}
