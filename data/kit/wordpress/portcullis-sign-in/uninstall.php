<?php
/**
 * Takes away what the plugin kept: its settings and the links of accounts. What waits in
 * transients ends by itself within minutes.
 *
 * @package PortcullisSignIn
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'portcullis_sign_in_settings' );
delete_transient( 'portcullis_sign_in_reports' );
delete_metadata( 'user', 0, 'portcullis_sign_in_id', '', true );
