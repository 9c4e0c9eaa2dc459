// SPDX-License-Identifier: Apache-2.0
package io.mooncake.examples.node;

import io.mooncake.examples.cli.Refusal;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.plugin.segmentation.SegmentationPolicy;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.xml.XmlBeanDefinitionReader;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.io.FileSystemResource;

/**
 * A Spring XML file with exactly one {@link IgniteConfiguration} in it. Reading it creates all beans and starts nothing.
 *
 * @param path the file
 * @param context its beans; Ignite resolves {@code @SpringResource} there
 * @param configuration the node's configuration
 */
public record SpringFile(Path path, GenericApplicationContext context, IgniteConfiguration configuration) {
    /**
     * Reads {@code path}. Placeholders such as {@code ${mooncake.jdbc.port:10800}} are filled by a configurer bean in the file itself.
     *
     * @throws Refusal naming file, bean, property, value and what was expected
     */
    public static SpringFile read(Path path) {
        if (!Files.isRegularFile(path)) {
            throw new Refusal("Configuration file: " + path + " (expected: an existing Spring XML file; the demo's is"
                    + " examples/config/demo-node.xml)");
        }
        GenericApplicationContext context = new GenericApplicationContext();
        try {
            XmlBeanDefinitionReader reader = new XmlBeanDefinitionReader(context);
            reader.loadBeanDefinitions(new FileSystemResource(path));
            context.refresh();
        } catch (BeansException e) {
            context.close();
            throw new Refusal(SpringErrors.explain(path, e), e);
        }
        String[] names = context.getBeanNamesForType(IgniteConfiguration.class);
        if (names.length != 1) {
            context.close();
            throw new Refusal("Beans of class IgniteConfiguration in " + path + ": " + Arrays.toString(names)
                    + " (expected: exactly one)");
        }
        return new SpringFile(path, context, context.getBean(names[0], IgniteConfiguration.class));
    }

    /** Calls the node {@code name}, whatever the file says. */
    void rename(String name) {
        configuration.setIgniteInstanceName(name);
        configuration.setConsistentId(name);
    }

    /** A node that was cut off stops; Ignite's default would end this process, which is to start it again. */
    void stopWhenCutOff() {
        if (configuration.getSegmentationPolicy() == SegmentationPolicy.USE_FAILURE_HANDLER) {
            configuration.setSegmentationPolicy(SegmentationPolicy.STOP);
        }
    }

    /** Stack trace of what Spring said, for those who ask by {@code --trace}. */
    static void trace(Refusal refusal, PrintWriter err) {
        if (refusal.getCause() != null) {
            refusal.getCause().printStackTrace(err);
        }
    }
}
