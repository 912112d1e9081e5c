/** `toolcrib/clients`: reads and changes the configs of the MCP clients on this machine. For Node. */

export type { GatewayDoor } from './client-entries.ts'
export { CLIENT_FORMATS, type ClientFormat } from './client-entries.ts'
export { type ClientFile, type ClientPlace, clientFiles } from './client-files.ts'
export { ClientProfiles, type ClientServers, removeMadeProfiles } from './client-profiles.ts'
export {
  applyConnect,
  applyDisconnect,
  type ClientChange,
  type ConnectClientOptions,
  type MadeProfile,
  planConnect,
  planDisconnect,
} from './connect-client.ts'
export {
  type ConnectableClient,
  connectableClients,
  findClient,
  serversOfClient,
} from './connectable-clients.ts'
export { type ImportOptions, type ImportOutcome, importServers, missingVariables } from './import-servers.ts'
export { type DiffLine, diffLines } from './line-diff.ts'
export type { PlannedFile, PlannedServer } from './plan-import.ts'
export type { ImportedServer } from './read-servers.ts'
export { replaceText, ServersFile } from './servers-file.ts'
