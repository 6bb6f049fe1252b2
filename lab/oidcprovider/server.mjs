// An OpenID provider for tests. Its clients are users that get tokens by their own credentials: access tokens
// (RFC 9068) whose claim sub is the client's name, and whose groups are its groups.
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

function newProvider() {
  return new Provider(options.issuer, {
    jwks: { keys: newKeys() },
    clients: options.clients.map(({ id, secret, groups }) => ({
      client_id: id, client_secret: secret, groups,
      grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
    })),
    extraClientMetadata: { properties: ['groups'] },
    extraTokenClaims: (ctx) => ({ groups: ctx.oidc.client.groups }),
    cookies: { keys: [randomUUID()] },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:test:server',
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
  if (request.method === 'POST' && request.url === '/rotate') { // other keys, from now on
    handle = newProvider();
    response.writeHead(204).end();
    return;
  }
  handle(request, response);
}).listen(options.port, '127.0.0.1');
