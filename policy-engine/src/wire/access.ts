/** Answer of `GET /access/{action}` and of the role check (docs/reference/access-checks.md#who-may-ask). */
export interface Access {
  granted: boolean;
}

/** Answer of `GET /access/domain/{domainName}/principal/{principal}`: short role names. */
export interface RoleAccess {
  roles: string[];
}
