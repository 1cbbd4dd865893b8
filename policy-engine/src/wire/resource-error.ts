/** Body of every error of every endpoint (docs/reference/http.md#errors); the token endpoint adds the RFC 6749 §5.2 members. */
export interface ResourceError {
  /** The HTTP status. */
  code: number;
  message: string;
  error?: string;
  error_description?: string;
}
