/** `toolcrib/mcp`: MCP servers as a source of tools. For Node. */

export type { Finding, FindingKind, Schedule, Severity } from '@toolcrib/core'
export type { Deadline } from '@toolcrib/core/internal'
export type { StartFailure } from './cache/start-failures.ts'
export type {
  GatewayConfig,
  GatewayLimitsConfig,
  GatewayOAuthConfig,
  GatewayTokenConfig,
} from './config/gateway-config.ts'
export {
  type Config,
  type ConfigLayer,
  type LoadOptions,
  loadConfig,
  readConfig,
} from './config/load-config.ts'
export type { ApiConfig } from './config/openapi-config.ts'
export type { Profile } from './config/profile-config.ts'
export type { ReadOptions } from './config/read-servers.ts'
export type { Environment, ServerConfig } from './config/server-config.ts'
export type { SearcherChoice, ToolsConfig } from './config/tools-config.ts'
export { cacheDirectory, configDirectory, stateDirectory } from './config/user-folders.ts'
export { type WatchOptions, watchConfig } from './config/watch-config.ts'
export type {
  ConnectOptions,
  McpEvent,
  RawRequest,
  RawRequestOptions,
  ServersRegistry,
} from './connect-options.ts'
export { connectServers } from './connect-servers.ts'
export type { ConnectedServers, ServersConfig } from './connected-servers.ts'
export type { OpenConnection, OpenRequest } from './connection/connect.ts'
export { connectOver } from './connection/connect-over.ts'
export type { Connection, ServerInfo } from './connection/connection.ts'
export type { OAuthOptions } from './connection/http/oauth-session.ts'
export { type RequestOptions, ServerError } from './connection/requests.ts'
export type {
  ClientOptions,
  ServerListener,
  ServerNotification,
  ServerRequest,
} from './connection/server-messages.ts'
export { type FindOptions, type FoundConfig, findConfig } from './find-config.ts'
export type { ItemKind, ListKind, ServerItem } from './listed/server-item.ts'
export type { ServerTool } from './listed/server-tool.ts'
export { type Approval, approveChanges, changeMatcher, splitDigest } from './lock/approve.ts'
export { changeDigest, compareWithLock, type FieldChange, type LockChange } from './lock/compare.ts'
export { findProgram } from './lock/find-program.ts'
export {
  type LockLayer,
  lockInForce,
  lockPlaces,
  readLocks,
  writeLocks,
} from './lock/lock-layers.ts'
export { forgetLock } from './lock/lock-memory.ts'
export type { ItemDefinition, LockedItem, LockedItems } from './lock/locked-item.ts'
export {
  type LockedServer,
  type LockedTool,
  type Lockfile,
  lockServers,
  type ObservedServer,
  type ProgramChange,
} from './lock/lockfile.ts'
export { lockfilePath, readLockfile, writeLockfile } from './lock/lockfile-file.ts'
export { commandWords, literalSecrets, type ServerCommand } from './lock/server-command.ts'
export {
  type OpenedRegistry,
  type OpenFromConfigOptions,
  observeServers,
  openFromConfig,
} from './open-from-config.ts'
export type { ApiStatus } from './openapi/open-apis.ts'
export { ToolScanner } from './scan/tool-scanner.ts'
export type { CheckedItem, ItemList } from './server/server-items.ts'
export type { SkippedSkill } from './skills/open-skills.ts'
export { describeUnmatched, type UnmatchedInConfig, unmatchedInConfig } from './unmatched-in-config.ts'
export { openUserMemory, type UserMemory } from './user-memory.ts'
