import type { AccountPin } from '#contracts/account-value';
import type { CompiledTemplate } from '#contracts/template';
import type { TemplateServer } from '#contracts/template-server';
import { AppError } from '#errors';
import {
  accountAddressOf,
  actionServerUrls,
  fixedHostsFor,
  hostIn,
  isSameLookUp,
  serverFor,
} from '#templates';
import { placeOf } from '../../servers/domain/placeholders.ts';
import { resolveServer } from '../../servers/domain/resolve-server.ts';
import { invalidParams } from './credential-choices.ts';

export interface ServiceAddress {
  readonly baseUrl: string;
  /** The host of the base URL, and all others at which deny rules reach the service. */
  readonly hosts: readonly string[];
  /** The hosts among `hosts` to which credentials may go. The host of the base URL comes first. */
  readonly credentialHosts: readonly string[];
  /**
   * The servers that single actions declare, to which credentials go too. None at a base URL that
   * an admin gave.
   */
  readonly actionServers?: readonly string[];
  /**
   * The values of all variables, including a value that comes from the account of the connection.
   */
  readonly variables: Readonly<Record<string, string>>;
}

/** The account by which a service is connected. */
export interface AddressedAccount {
  readonly reference: string;
  readonly pin?: AccountPin | null;
}

interface AddressChoice {
  /** The security schemes of the alternative by which the service is connected. */
  readonly schemes: readonly string[];
  readonly account: AddressedAccount | null;
  readonly variables: Readonly<Record<string, string>>;
  /** The base URL that an admin gave, which replaces the template's server. */
  readonly baseUrl: string | undefined;
  readonly isPlainHttpAllowed: (host: string) => boolean;
  /** The host of a service that is there already; a default that leads to it needs no confirmation. */
  readonly knownHost?: string | undefined;
}

/** The base URL of a service's calls, and its hosts. */
export function addressOf(template: CompiledTemplate, choice: AddressChoice): ServiceAddress {
  const { schemes, baseUrl } = choice;
  const server = serverFor(template, schemes);
  if (server === undefined)
    throw new AppError('not_found', `"${template.key}" cannot be connected.`);
  const variables = { ...choice.variables, ...valueOfAccount(template, server, choice) };
  const resolvedUrl = resolveServer(server, { ...choice, variables });
  const { host } = resolvedUrl;
  if (baseUrl === undefined && host !== choice.knownHost)
    requireGivenHost(template, server, { schemes, variables });
  const otherHosts = baseUrl === undefined ? fixedHostsFor(template, schemes) : [];
  const hosts = [...new Set([host, ...otherHosts])];
  const actionServers = baseUrl === undefined ? actionServerUrls(template) : [];
  const credentialHosts = [...new Set([host, ...actionServers.map(hostIn)])];
  return { baseUrl: resolvedUrl.baseUrl, hosts, credentialHosts, actionServers, variables };
}

/**
 * Refuses to send credentials to a host that the default of a variable makes: in documents of other
 * people, defaults are often examples. Those of built-in templates were checked.
 */
function requireGivenHost(
  { tier }: CompiledTemplate,
  { url, variables: declared }: TemplateServer,
  { schemes, variables }: Pick<AddressChoice, 'schemes' | 'variables'>,
): void {
  if (tier === 'global' || schemes.length === 0) return;
  const lacking = declared.find(
    ({ name }) => placeOf(url, name) === 'host' && !Object.hasOwn(variables, name),
  );
  if (lacking === undefined) return;
  const { name, default: example } = lacking;
  throw invalidParams(
    `variables.${name}`,
    `Give the variable "${name}": it says which host gets the credentials, and "${example}", which the template names, may be an example.`,
  );
}

/** Returns the value of the variable that comes from the account. Refuses a value in the request. */
function valueOfAccount(
  { key, title }: CompiledTemplate,
  server: TemplateServer,
  { account, variables: given, baseUrl }: AddressChoice,
): Record<string, string> {
  const address = accountAddressOf(server);
  if (address === undefined) return {};
  const { variable, lookUp } = address;
  if (baseUrl !== undefined) {
    const message = `${title} has its address from the account. Leave base_url out, or connect it in another way.`;
    throw invalidParams('base_url', message);
  }
  if (
    account?.pin === undefined ||
    account.pin === null ||
    !isSameLookUp(account.pin.from, lookUp)
  ) {
    const connection = account?.reference ?? key;
    throw new AppError(
      'credential_missing',
      `The connection "${connection}" does not say which ${variable} it is for. Connect it again for the template (POST /v1/connections {"template": "${key}"}), under the same name.`,
      { details: { connection, template: key } },
    );
  }
  const { value, label } = account.pin;
  if (Object.hasOwn(given, variable) && given[variable] !== value) {
    const message = `The connection "${account.reference}" opens ${label} only. Leave the variable out, or name another connection.`;
    throw invalidParams(`variables.${variable}`, message);
  }
  return { [variable]: value };
}

/**
 * The alternatives whose server has all the given variables; all alternatives when no server has
 * them. So the given variables also select the alternative with which the service is connected.
 */
export function waysWithVariables<Way extends { readonly schemes: readonly string[] }>(
  template: CompiledTemplate,
  ways: readonly Way[],
  variables: Readonly<Record<string, string>>,
): readonly Way[] {
  const names = Object.keys(variables);
  const fitting = ways.filter(({ schemes }) => {
    const known = serverFor(template, schemes)?.variables.map(({ name }) => name);
    return names.every((name) => known?.includes(name) === true);
  });
  return fitting.length === 0 ? ways : fitting;
}
