/** What a request must be allowed to do, in the language of policy. */
export interface Need {
  /** E.g. `read`. */
  readonly action: string;
  /** `domain:entity`, e.g. `catalog:movie`. */
  readonly resource: string;
}
