import { encodingHint, parseServerUrl } from './server-url.ts';

const modes = ['disable', 'require', 'verify-ca', 'verify-full'];
/** The parameters of libpq that both Postgres drivers understand here. */
const parameters = ['host', 'sslmode', 'sslrootcert', 'application_name', 'options'];

/** What is wrong with the URL of a Postgres server; undefined when the URL can be used. */
export function findDatabaseUrlProblem(text: string): string | undefined {
  if (!/^postgres(ql)?:\/\//.test(text)) return 'must be a postgres:// URL';
  const [authority = ''] = text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1);
  if (authority.slice(authority.lastIndexOf('@') + 1).includes(',')) {
    return (
      'names several hosts, of which the gateway uses one: name an address that leads to the ' +
      'primary, such as that of a load balancer or of PgBouncer'
    );
  }
  const url = parseServerUrl(text);
  if (url === undefined) return `must be a postgres:// URL ${encodingHint}`;
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) {
    return `has the parameter ${unknown}, which has no meaning here; those that have are ${parameters.join(', ')}`;
  }
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !modes.includes(mode)) {
    return `has a sslmode that is not one of ${modes.join(', ')}`;
  }
  return undefined;
}
