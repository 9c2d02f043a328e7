import { ApiError } from '../../api/client.ts';

export type SecretField = 'name' | 'value' | 'allowed_hosts' | 'description';

/** The error message for this field of a secret. Undefined if the field is not wrong. */
export function errorOfField(
  error: Error | null,
  field: SecretField,
  hosts: readonly string[],
): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (field === 'allowed_hosts' && error.code === 'host_not_allowed') return error.message;
  const found = error.issues.find(({ path }) => path.split('.', 1)[0] === field);
  if (found === undefined) return undefined;
  // `allowed_hosts.2` stands for the third host.
  const host = field === 'allowed_hosts' ? hosts[Number(found.path.split('.')[1])] : undefined;
  return host === undefined ? `It ${found.message}.` : `${host} ${found.message}.`;
}

/** Whether one of the fields shows the error, so that it need not be shown elsewhere. */
export function isSaidByField(error: Error, fields: readonly SecretField[]): boolean {
  return fields.some((field) => errorOfField(error, field, []) !== undefined);
}
