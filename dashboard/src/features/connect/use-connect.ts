import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { createMemo, createSignal, onMount } from 'solid-js';
import { createStore, reconcile } from 'solid-js/store';

import type { Connection } from '#contracts/http/connections';
import type { ConnectedService } from '#contracts/http/services';
import type { Tier } from '#contracts/vocabulary';
import { ApiError } from '../../api/client.ts';
import { useMe } from '../session/session.tsx';
import { askForConnection, createService, secretsQuery } from './connect.queries.ts';
import {
  firstNameOf,
  preselectScopes,
  findFirstWayIndex,
  findFittingConnections,
  findFittingSecrets,
  findFreeName,
  givenValues,
  hostsOfSecret,
  hostsOf,
  isUnbound,
  isUsable,
  findMissingScopes,
  namesIn,
  referenceOf,
  waysOf,
} from './connect-view.ts';
import type { NeededSecret, ConnectionWay } from './connect-view.ts';
import { findPreselectedSecret } from './preselected-secret.ts';
import type { Draft } from './draft.ts';
import { dropDraft, firstVariables, keepDraft, takeDraft, templateVersionOf } from './draft.ts';
import type { FormProps } from './form-props.ts';
import {
  findHeldWayIndex,
  heldCredentialsOf,
  lackingOf,
  lackingVariables,
  newHostsOf,
  nothingHeld,
} from './held.ts';
import { createSampleKey, isSampleTemplate } from './sample-key.ts';
import { saveUpgrade } from './save-upgrade.ts';
import type { ChosenCredentials } from './save-upgrade.ts';
import type { SecretChoice } from './secret-choice.tsx';
import { storeNeededSecrets } from './store-secrets.ts';

/** Connections in these states do not occupy their names. */
const unusedStatuses: ReadonlySet<Connection['status']> = new Set(['pending', 'revoked']);

/**
 * The state of the form. Storing secrets, asking for an account and creating the service are one
 * step for the person. After an error, a retry continues at the part that failed.
 */
export function useConnect(props: FormProps) {
  const me = useMe();
  const page = location.pathname + location.search;
  const queryClient = useQueryClient();
  // oxlint-disable solid/reactivity -- only first values: later ones must not change the form
  const draft = takeDraft(page, props.connections);
  const template = props.template;
  const ways = waysOf(template);
  const { upgrade } = props;
  const held = props.upgrade?.held ?? nothingHeld;
  const isAdmin = me().role === 'admin';
  const hasApp = () => props.app !== null && props.app.source !== 'none';
  const isReady = (way: ConnectionWay) => way.account === null || hasApp();
  const preselectedTier = (): Tier =>
    upgrade?.service.tier ?? draft?.tier ?? props.request?.tier ?? 'user';
  const firstValue = isSampleTemplate(template) ? createSampleKey() : '';
  const isSameTemplate = draft === null || draft.template === templateVersionOf(template);

  const [wayAt, setWayAt] = createSignal(
    draft !== null && draft.wayAt < ways.length
      ? draft.wayAt
      : (findHeldWayIndex(ways, held) ?? findFirstWayIndex(ways, isReady)),
  );
  const [tier, setTier] = createSignal<Tier>(preselectedTier());
  const wantedName = props.request?.name ?? template.key;
  const firstName = firstNameOf(wantedName, { ...props, tier: preselectedTier() });
  const [name, setName] = createSignal(upgrade?.service.name ?? draft?.name ?? firstName);
  const [readsAtOnce, setReadsAtOnce] = createSignal(draft?.readsAtOnce ?? true);
  const [variables, setVariables] = createStore(firstVariables(template, { draft, held }));
  const [baseUrl, setBaseUrl] = createSignal(draft?.baseUrl ?? '');
  const [choices, setChoices] = createStore<Record<string, SecretChoice>>({});
  // A person who comes back without access wants an account that is not listed. So no listed
  // account is preselected.
  const [chosenConnection, setChosenConnection] = createSignal<string | null | undefined>(
    draft?.isRefused === true ? null : (draft?.connectionId ?? undefined),
  );
  const [givenScopes, setGivenScopes] = createSignal<readonly string[]>();
  const requestedScopes = props.request?.scopes ?? [];
  const askedActions = props.request?.actions ?? [];
  // oxlint-enable solid/reactivity
  const wholeWay = (): ConnectionWay => ways[wayAt()] ?? { secrets: [], account: null };
  /** What the person still has to provide. */
  const way = createMemo(() => lackingOf(wholeWay(), held));
  const address = () => way().address ?? template;
  const hosts = createMemo(() => hostsOf(address(), { variables, baseUrl: baseUrl().trim() }));
  const providerTitle = () => props.app?.title ?? template.title;
  const fittingSecretsOf = (needed: NeededSecret) =>
    findFittingSecrets(props.secrets, {
      needed,
      hosts: hosts(),
      tier: tier(),
      chosen: choices[needed.scheme]?.name ?? null,
    });
  const accounts = () =>
    findFittingConnections(props.connections, {
      account: way().account,
      tier: tier(),
    });
  /** The chosen account. Null for an account that is not connected yet. */
  const connection = (): Connection | null => {
    const chosen = chosenConnection();
    if (chosen === null) return null;
    return accounts().find(({ id }) => id === chosen) ?? accounts()[0] ?? null;
  };
  const offeredScopes = () => [...new Set([...requestedScopes, ...(way().account?.scopes ?? [])])];
  const scopes = () => {
    const { account } = way();
    const chosenScopes = givenScopes();
    if (chosenScopes !== undefined || account === null) return chosenScopes ?? [];
    return preselectScopes(account, { scopes: requestedScopes, actions: askedActions });
  };
  const firstSecretOf = (needed: NeededSecret) =>
    findPreselectedSecret(fittingSecretsOf(needed), { needed, hosts: hosts() });
  const choiceOf = (needed: NeededSecret): SecretChoice =>
    choices[needed.scheme] ?? {
      name: draft?.secrets[needed.scheme] ?? firstSecretOf(needed)?.name ?? null,
      value: firstValue,
      isShown: false,
    };
  /** Whether the person has to go to the provider before the service can be connected. */
  const leavesPage = () => {
    if (way().account === null) return false;
    const existing = connection();
    if (existing === null || !isUsable(existing)) return true;
    // The provider has just granted the scopes that it was willing to grant. Asking again would be
    // a loop.
    if (draft?.isGranted === true && existing.id === draft.connectionId) return false;
    if (isUnbound(existing, address())) return true;
    return findMissingScopes(existing, scopes()).length > 0;
  };
  const lacksApp = () => way().account !== null && !hasApp();

  const storeSecrets = () =>
    storeNeededSecrets(way().secrets, {
      choiceOf,
      tier: tier(),
      hostsOf: (needed) => hostsOfSecret(needed, hosts()),
      takenNames: () => namesIn(props.secrets, tier()),
      onStored: async (needed, storedName) => {
        // If a later step fails, the person does not have to enter the value again.
        setChoices(needed.scheme, { name: storedName, value: '', isShown: false });
        await queryClient.invalidateQueries({ queryKey: secretsQuery().queryKey });
      },
    });

  const askedVariables = () =>
    upgrade === undefined ? address().variables : lackingVariables(address(), held);
  /** Whether the form asks for a variable, a secret or an account. */
  const isAsking = () =>
    askedVariables().length > 0 || way().secrets.length > 0 || way().account !== null;
  const newHosts = () => (upgrade === undefined ? [] : newHostsOf(upgrade, hosts()));

  const toDraft = (secrets: Record<string, string>): Draft => ({
    state: 'back',
    connectionId: connection()?.id ?? null,
    grantedAt: null,
    template: templateVersionOf(template),
    wayAt: wayAt(),
    name: name(),
    tier: tier(),
    readsAtOnce: readsAtOnce(),
    variables: { ...variables },
    baseUrl: baseUrl(),
    secrets,
  });

  const connectionFields = () => ({
    template: template.key,
    scheme: way().account?.scheme,
    tier: tier(),
  });

  const goToProvider = async (secrets: Record<string, string>): Promise<void> => {
    const existing = connection();
    const scopesMember = scopes().length === 0 ? {} : { scopes: [...scopes()] };
    // A connection that an earlier attempt left incomplete is continued, so its name does not count
    // as taken.
    const completedConnections = props.connections.filter(
      ({ status }) => !unusedStatuses.has(status),
    );
    const takenNames = namesIn(completedConnections, tier());
    const askedConnection = await askForConnection(
      existing === null
        ? { ...connectionFields(), name: findFreeName(name(), takenNames), ...scopesMember }
        : isUnbound(existing, address())
          ? { ...connectionFields(), name: existing.name, ...scopesMember }
          : { connection: existing.id, ...scopesMember },
    );
    keepDraft(page, {
      ...toDraft(secrets),
      state: 'away',
      connectionId: askedConnection.id,
      grantedAt: askedConnection.granted_at ?? null,
    });
    const url = new URL(askedConnection.authorization_url);
    url.searchParams.set('return_to', page);
    location.assign(url);
  };

  const connecting = useMutation(() => ({
    /** Returns null if the browser goes to the provider first: the service is not connected yet. */
    mutationFn: async (): Promise<ConnectedService | null> => {
      const secrets = await storeSecrets();
      if (leavesPage()) {
        await goToProvider(secrets);
        return null;
      }
      const reused = heldCredentialsOf(wholeWay(), held);
      const account = way().account === null ? reused.connection : (connection()?.name ?? null);
      const usedSecrets = { ...reused.secrets, ...secrets };
      const values = held.variables === undefined ? {} : givenValues(address(), variables);
      const chosen: ChosenCredentials = {
        ...(Object.keys(values).length === 0 ? {} : { variables: values }),
        credentials: {
          ...(Object.keys(usedSecrets).length === 0 ? {} : { secrets: usedSecrets }),
          ...(account === null ? {} : { connection: account }),
        },
      };
      if (upgrade !== undefined) {
        const isNaming = isAsking() || newHosts().length > 0;
        return saveUpgrade(upgrade, {
          version: template.version,
          chosen,
          isNaming,
          way: wholeWay(),
        });
      }
      return createService({
        ...chosen,
        template: template.key,
        template_tier: template.tier,
        template_version: template.version,
        name: name(),
        tier: tier(),
        auto_allow_reads: readsAtOnce(),
        ...(baseUrl().trim() === '' ? {} : { base_url: baseUrl().trim() }),
        ...(props.request === undefined ? {} : { request_id: props.request.id }),
      });
    },
    onSuccess: (service: ConnectedService | null) => {
      if (service === null) return;
      dropDraft(page);
      props.onConnected(service);
    },
  }));
  const isStale = () =>
    connecting.error instanceof ApiError && connecting.error.reason === 'template_changed';
  const isBusy = () => connecting.isPending || (connecting.isSuccess && connecting.data === null);

  onMount(() => {
    if (draft?.isGranted === true && isSameTemplate) connecting.mutate();
  });

  return {
    template,
    ways,
    isAdmin,
    hasApp,
    isReady,
    way,
    wayAt,
    address,
    /** The variables of the address for which the person enters values. */
    askedVariables,
    isAsking,
    newHosts,
    /** Whether an upgraded service already has all credentials of one of the ways. */
    isEverythingHeld: upgrade !== undefined && findHeldWayIndex(ways, held) !== undefined,
    isUpgrade: upgrade !== undefined,
    setWayAt: (at: number) => {
      setWayAt(at);
      // The way may use another account, which has other scopes.
      setGivenScopes(undefined);
      setChosenConnection(undefined);
    },
    tier,
    setTier: (chosen: Tier) => {
      setTier(chosen);
      // The other tier has its own secrets, even if their names are equal.
      setChoices(reconcile({}));
    },
    name,
    setName,
    readsAtOnce,
    setReadsAtOnce,
    variables,
    setVariable: (variable: string, value: string) => setVariables(variable, value),
    baseUrl,
    setBaseUrl,
    hosts,
    providerTitle,
    fittingSecretsOf,
    choiceOf,
    setChoice: (needed: NeededSecret, change: Partial<SecretChoice>) =>
      setChoices(needed.scheme, { ...choiceOf(needed), ...change }),
    accounts,
    connection,
    setChosenConnection,
    offeredScopes,
    scopes,
    setScopes: setGivenScopes,
    leaves: leavesPage,
    lacksApp,
    connecting,
    isBusy,
    /** The requested name, if it was not suggested because a service or rules already use it. */
    takenName: () => (firstName === wantedName || name() === wantedName ? null : wantedName),
    reference: () => referenceOf(name(), tier()),
    /** Whether the person came back from the provider without access. */
    isBackInVain: () => draft?.isRefused === true,
    /** Whether the person entered the values for another version of the template. */
    isChanged: () => !isSameTemplate,
    isStale,
    /** Keeps what was entered, and loads the current version of the template. */
    lookAgain: () => {
      const names = Object.entries(choices).flatMap(([scheme, { name: stored }]) =>
        stored === null ? [] : [[scheme, stored] as const],
      );
      connecting.reset();
      keepDraft(page, toDraft(Object.fromEntries(names)));
      props.onChanged();
    },
  };
}

export type Connect = ReturnType<typeof useConnect>;
