export * from '@toolcrib/scripts'
