<?php
/**
 * Takes away what the plugin kept, on each site of a network: its settings and the links of
 * accounts. What waits in transients ends by itself within a day.
 *
 * @package PortcullisSignIn
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

/** Of the site that is switched to. */
function portcullis_sign_in_forget_site(): void {
	delete_option( 'portcullis_sign_in_settings' );
	foreach ( array( 'reports', 'passed', 'look', 'keys', 'keys_asked' ) as $name ) {
		delete_transient( 'portcullis_sign_in_' . $name );
	}
}

if ( is_multisite() ) {
	// Without a number there are 100 of them.
	foreach ( get_sites( array( 'fields' => 'ids', 'number' => 0 ) ) as $portcullis_sign_in_site ) {
		switch_to_blog( (int) $portcullis_sign_in_site );
		portcullis_sign_in_forget_site();
		restore_current_blog();
	}
} else {
	portcullis_sign_in_forget_site();
}
// One table for the whole network.
foreach ( array( 'id', 'deleted', 'changed' ) as $portcullis_sign_in_meta ) {
	delete_metadata( 'user', 0, 'portcullis_sign_in_' . $portcullis_sign_in_meta, '', true );
}
