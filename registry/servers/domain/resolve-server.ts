import { isServerValue } from '#contracts/server-variables';
import { AppError } from '#errors';
import { baseOf, parseBaseUrl } from './base-url.ts';
import { hostOf } from './hosts.ts';
import { placeOf } from './placeholders.ts';
import type { Server } from './server.ts';

export interface ServerChoice {
  readonly variables: Readonly<Record<string, string>>;
  /**
   * The address of a self-hosted product. `resolveServer` does not check who may give one; its
   * caller has done so.
   */
  readonly baseUrl?: string | undefined;
  readonly isPlainHttpAllowed?: (host: string) => boolean;
}

/**
 * The base URL of one connected service, and its host in the form that permission keys use.
 *
 * The value of a variable must not change the rest of the host. The URL is therefore built, parsed
 * again and refused unless it has exactly the expected host.
 */
export function resolveServer(
  server: Server,
  { variables, baseUrl, isPlainHttpAllowed }: ServerChoice,
): { baseUrl: string; host: string } {
  const address = baseUrl ?? fillIn(server, variables);
  const parsedUrl = parseBaseUrl(address, isPlainHttpAllowed);
  if (typeof parsedUrl === 'string')
    throw invalidParams(baseUrl === undefined ? 'variables' : 'base_url', parsedUrl);
  // Templates of self-hosted products name a server under `.invalid` as a placeholder. Such a name
  // never resolves (RFC 6761 §6.4), so a base URL must be given.
  if (parsedUrl.hostname.endsWith('.invalid')) {
    throw invalidParams('base_url', 'Everybody hosts this themselves. Give the base_url of yours.');
  }
  const hostInAddress = /^https?:\/\/([^/:]*)/.exec(address)?.[1]?.toLowerCase();
  const isFilledIn = baseUrl === undefined && server.variables.length > 0;
  if (isFilledIn && parsedUrl.hostname !== hostInAddress) {
    throw invalidParams('variables', 'The variables do not form a host name. Correct them.');
  }
  return { baseUrl: baseOf(parsedUrl), host: hostOf(parsedUrl) };
}

const allowed = {
  host: 'may hold letters, digits and "-" only, at most 63',
  path: 'may hold letters, digits, "_", "~", "-" and, except at the start, "." only, at most 128',
};

function fillIn(server: Server, givenValues: Readonly<Record<string, string>>): string {
  const declaredNames = server.variables.map((variable) => variable.name);
  const unknownName = Object.keys(givenValues).find((name) => !declaredNames.includes(name));
  if (unknownName !== undefined) {
    const knownNamesText =
      declaredNames.length > 0 ? `Known: ${declaredNames.join(', ')}.` : 'It has none.';
    throw invalidParams(
      `variables.${unknownName}`,
      `The service has no variable "${unknownName}". ${knownNamesText}`,
    );
  }
  return server.variables.reduce((url, variable) => {
    const value = Object.hasOwn(givenValues, variable.name)
      ? givenValues[variable.name]
      : variable.default;
    if (value === null || value === undefined) {
      const descriptionText = variable.description === '' ? '' : `: ${variable.description}`;
      throw invalidParams(
        `variables.${variable.name}`,
        `Give the variable "${variable.name}"${descriptionText}.`,
      );
    }
    const place = placeOf(server.url, variable.name);
    if (!isServerValue(value, place) || (variable.enum && !variable.enum.includes(value))) {
      const expected = variable.enum
        ? `must be one of ${variable.enum.join(', ')}`
        : allowed[place];
      const message = `The variable "${variable.name}" ${expected}.`;
      throw invalidParams(`variables.${variable.name}`, message);
    }
    return url.replaceAll(`{${variable.name}}`, value);
  }, server.url);
}

function invalidParams(path: string, message: string): AppError {
  return new AppError('invalid_params', message, { details: { issues: [{ path, message }] } });
}
