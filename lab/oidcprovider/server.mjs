// An OpenID provider for tests. Its clients are users that get access tokens (RFC 9068) with their credentials. The
// claim sub is the client's name, and groups are its groups. An optional further client logs these users in with a
// browser (authorization code flow with PKCE); every password is valid.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { Provider } from 'oidc-provider';

const options = JSON.parse(readFileSync(process.argv[2], 'utf8'));

function newKeys() {
  const of = (alg, type, parameters) => ({
    ...generateKeyPairSync(type, parameters).privateKey.export({ format: 'jwk' }),
    kid: randomUUID(), alg, use: 'sig',
  });
  return [of('ES256', 'ec', { namedCurve: 'P-256' }), of('RS256', 'rsa', { modulusLength: 2048 })];
}

function clients() {
  const all = options.clients.map(({ id, secret, groups }) => ({
    client_id: id, client_secret: secret, groups,
    grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
  }));
  if (options.login) {
    all.push({
      client_id: options.login.id, client_secret: options.login.secret,
      grant_types: ['authorization_code'], redirect_uris: [options.login.redirectURI], response_types: ['code'],
      id_token_signed_response_alg: options.algorithm,
    });
  }
  return all;
}

function findAccount(ctx, id) {
  const user = options.clients.find((client) => client.id === id);
  return user && { accountId: id, claims: () => ({ sub: id, groups: user.groups ?? [] }) };
}

function newProvider() {
  return new Provider(options.issuer, {
    jwks: { keys: newKeys() },
    clients: clients(),
    findAccount,
    claims: { openid: ['sub'], groups: ['groups'] },
    conformIdTokenClaims: false, // the ID token has the groups
    pkce: { required: () => true },
    extraClientMetadata: { properties: ['groups'] },
    extraTokenClaims: (ctx) => (ctx.oidc.client.groups ? { groups: ctx.oidc.client.groups } : undefined),
    cookies: { keys: [randomUUID()] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: Boolean(options.login) },
      resourceIndicators: {
        enabled: true,
        defaultResource: (ctx, client) => (client.grantTypes.includes('client_credentials')
          ? 'urn:test:server' : undefined),
        getResourceServerInfo: () => ({
          audience: options.audience, scope: '', accessTokenFormat: 'jwt', accessTokenTTL: 600,
          jwt: { sign: { alg: options.algorithm } },
        }),
      },
    },
  }).callback();
}

let handle = newProvider();
createServer({ cert: readFileSync(options.cert), key: readFileSync(options.key) }, (request, response) => {
  if (request.method === 'POST' && request.url === '/rotate') { // switches to new keys
    handle = newProvider();
    response.writeHead(204).end();
    return;
  }
  handle(request, response);
}).listen(options.port, '127.0.0.1');
