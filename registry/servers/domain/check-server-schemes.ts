import type { AuthMethod } from '#contracts/template';
import type { CompileContext } from '../../document/domain/context.ts';
import { didYouMean } from '../../document/domain/nearest.ts';
import type { Server } from './server.ts';

/**
 * Checks the servers that are for certain security schemes: the schemes exist, each alternative of
 * `security` has a server, and a value comes from the account only if a scheme has an account.
 */
export function checkServerSchemes(
  { findings }: CompileContext,
  servers: readonly Server[],
  { auth, security }: { auth: readonly AuthMethod[]; security: readonly (readonly string[])[] },
): void {
  const known = auth.map(({ scheme }) => scheme);
  for (const [index, { schemes = known, variables }] of servers.entries()) {
    const isOfAccount = variables.some(({ account }) => account !== undefined);
    const secret = auth.find(({ scheme, type }) => type !== 'oauth2' && schemes.includes(scheme));
    if (isOfAccount && (secret !== undefined || schemes.length === 0)) {
      const message = `A value of the account is for security schemes that use OAuth. Say with "for" which ones the server is for.`;
      findings.error('server_variable', ['servers', index], message);
    }
    const unknown = schemes.find((scheme) => !known.includes(scheme));
    if (unknown === undefined) continue;
    const message = `There is no security scheme "${unknown}".${didYouMean(unknown, known)}`;
    findings.error('security_scheme_unknown', ['servers', index, 'x-service-for'], message);
  }
  const ways = security.length === 0 ? [[]] : security;
  const wayWithoutServer = ways.find(
    (way) =>
      !servers.some(
        ({ schemes }) => schemes === undefined || schemes.some((scheme) => way.includes(scheme)),
      ),
  );
  if (wayWithoutServer === undefined) return;
  const words =
    wayWithoutServer.length === 0 ? 'calls without credentials' : wayWithoutServer.join(' and ');
  findings.error('server_invalid', ['servers'], `Add a server for ${words}; none is for it.`);
}
